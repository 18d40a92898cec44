"""Train the pool of emoji classifiers and write the table of their accuracies.

    PYTHONPATH=scripts python -m emoji_pool.train_pool OUT_DIR [--workers 1] [--steps 240] [--only PART_OF_A_NAME]

Renders the emoji (of the packages `@iconify-json/…`, with resvg_py) into OUT_DIR/pictures.npz the first time, trains
what is missing, with a small file for each network in OUT_DIR/results, and writes OUT_DIR/emoji_pool.csv. Stopped, the
same command goes on. It runs on the CPU, one thread a process: the same machine and versions give the same table again.
"""

import argparse
from pathlib import Path

from emoji_pool.classifier import Recipe, train_classifier
from emoji_pool.concepts import CLASSES, classified
from emoji_pool.glyphs import stored_pictures
from emoji_pool.pool import emoji_folds, emoji_models
from unseen.errors import UserError
from unseen.studies.shifts.model_pool import images_tested, pool_jobs, run_pool, write_pool


def main() -> None:
    """Train the pool, or a part of it."""
    parser = argparse.ArgumentParser(description="Train the pool of emoji classifiers.")
    parser.add_argument("out", type=Path, help="folder for pictures, results and emoji_pool.csv")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--steps", type=int, default=Recipe.steps, help="training steps of every network")
    parser.add_argument("--only", default="", help="train only models with this text in their name")
    args = parser.parse_args()

    try:
        folds = emoji_folds(stored_pictures(args.out / "pictures.npz", list(classified())))
        models = [model for model in emoji_models(Recipe(len(CLASSES), args.steps)) if args.only in model.name]
        total, results = len(pool_jobs(models, folds)), args.out / "results"
        for done, job in enumerate(run_pool(models, folds, results, train_classifier, workers=args.workers), start=1):
            setup = job.made.setup
            print(f"{done} of at most {total}: {setup.network} λ={setup.share:g} {setup.ratio:.0%}", flush=True)
        write_pool(models, folds, results, args.out / "emoji_pool.csv")
    except UserError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print("test images: " + ",".join(f"{name}={size}" for name, size in images_tested(folds).items()))


if __name__ == "__main__":
    main()
