"""What documentation shows as output, compared with what its code prints today."""

import math
import re

NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?")


def same_output(shown: str, printed: str, *, relative: float = 0.02, absolute: float = 0) -> bool:
    """Whether two texts have the same words and whole numbers, and nearly the same decimal numbers.

    Decimals may differ by a `relative` and an `absolute` amount, and by two units of the last place that is shown:
    another machine rounds products differently, which can change the prediction for a test sample.
    """
    words, found = ([NUMBER.sub("#", word) for word in text.split()] for text in (shown, printed))
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False)
    return words == found and all(_near(*pair, relative, absolute) for pair in pairs)


def _near(shown: str, printed: str, relative: float, absolute: float) -> bool:
    if "." not in shown:
        return shown == printed
    first, second = (float(number.replace("−", "-")) for number in (shown, printed))
    unit: float = 10.0 ** -len(shown.partition(".")[2])
    return math.isclose(first, second, rel_tol=relative, abs_tol=max(absolute, 2 * unit))
