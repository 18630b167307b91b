#!/usr/bin/env python3
"""Takes pictures of pages, to look at: look.py DIRECTORY PAGE.html ...

Each at 390, 1280 and 2560 px, light and dark."""

import os
import sys

sys.dont_write_bytecode = True  # Nothing is left in the tree.

from browser import Browser


def main(directory, pages):
    os.makedirs(directory, exist_ok=True)
    with Browser() as browser:
        for page in pages:
            name = os.path.splitext(os.path.basename(page))[0]
            for width in (390, 1280, 2560):
                for is_dark in (False, True):
                    browser.open(page, width, 900, is_dark)
                    look = "dark" if is_dark else "light"
                    height = browser.value("document.documentElement.scrollHeight")
                    browser.open(page, width, min(height, 8000), is_dark)
                    browser.picture(os.path.join(directory, f"{name}_{width}_{look}.png"))
                    for message in browser.messages:
                        print(f"{page} at {width}: {message}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
