"""The section ``notifiers.email`` of ``jobman.yaml``."""

import re
from pathlib import Path

import pytest

from jobman_core.builtin import builtins
from jobman_core.config.settings_file import read_settings
from jobman_core.errors import ConfigError
from jobman_core.models.settings import Settings
from jobman_core.plugins import Plugins
from jobman_email.settings import EmailSettings

PAGE = Path(__file__).parents[3] / "docs/email.md"


def read(text: str) -> Settings:
    path = Path("/home/lab/jobman.yaml")
    plugins = Plugins.from_environment(builtins)
    return read_settings([(path, text.encode())], path, plugins)


def test_the_example_of_the_page_is_one_that_works() -> None:
    (example,) = re.findall(r"(?ms)^```yaml\n(notifiers:.*?)^```$", PAGE.read_text("utf-8"))
    settings = EmailSettings(**read(example).backend("notifier", "email"))
    assert settings.host == "smtp.lab.example"
    assert settings.server_port == 587
    assert settings.people == {"ada": "ada@lab.example"}


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("{port: 70000}", "port: a port is 1 to 65535"),
        ("{sender: nobody}", "sender: 'nobody' is no mail address"),
        ('{to: ["a@x.org\\r\\nBcc: b@x.org"]}', "to: plain addresses"),
        ("{people: {ada: ada}}", "people: plain addresses by user"),
        ("{domain: '@x.org'}", "domain: a plain domain"),
        ("{security: ssl}", "starttls"),
        ("{pasword_file: x}", "did you mean 'password_file'"),
    ],
)
def test_a_fault_says_where_it_is_and_what_to_write(section: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(f"notifiers:\n  email: {section}\n")
    (fault,) = caught.value.faults
    assert fault.line == 2
    assert fault.key.startswith("notifiers.email")
    assert told in str(fault)
