"""What documentation shows as output, compared with what its code prints today."""

import math
import re

NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?")


def same_output(shown: str, printed: str, *, tolerance: float = 0.02) -> bool:
    """Whether two texts have the same words and whole numbers, and nearly the same decimal numbers.

    Decimals may differ by a share of `tolerance`, or by two units of the last place that is shown: another machine
    rounds products differently, which can change the prediction for a test sample.
    """
    words, found = ([NUMBER.sub("#", word) for word in text.split()] for text in (shown, printed))
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False)
    return words == found and all(_near(*pair, tolerance) for pair in pairs)


def _near(shown: str, printed: str, tolerance: float) -> bool:
    if "." not in shown:
        return shown == printed
    first, second = (float(number.replace("−", "-")) for number in (shown, printed))
    return math.isclose(first, second, rel_tol=tolerance, abs_tol=2 * 10 ** -len(shown.partition(".")[2]))
