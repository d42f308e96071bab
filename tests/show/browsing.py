"""What a test does with a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("selenium", reason="no selenium: pip install selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


class Page:
    """One page after the other, in one browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        driver.get_log("performance"), driver.get_log("browser")  # what came before

    def open(self, address: str) -> Page:
        self.driver.get(address)
        return self

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        WebDriverWait(self.driver, 30).until(lambda _: self.all(selector))
        return self.all(selector)[0]

    def tab(self, name: str) -> None:
        self.one(f"#tab-{name}").click()
        WebDriverWait(self.driver, 30).until(
            lambda _: (
                self.one(f"#tab-{name}").get_attribute("aria-selected") == "true"
                and not self.all("#panel[aria-busy]")
            )
        )

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def point(self, node: Any, event: str = "pointerenter") -> None:
        self.run("arguments[0].dispatchEvent(new PointerEvent(arguments[1], {bubbles: true}))", node, event)

    def asked_for(self) -> list[str]:
        """Every address that was requested."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
