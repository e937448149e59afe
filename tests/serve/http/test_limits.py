"""The rate limit of each caller."""

import pytest

from regard.serve.http.limits import RateLimiter, caller_address
from regard.serve.http.refusal import Refusal
from tests.serve.conftest import Clock


def test_an_allowance_is_used_up_and_fills_again() -> None:
    clock = Clock()
    rates = RateLimiter(60, clock)
    rates.spend("a", 60)
    with pytest.raises(Refusal, match="Slowdown: 60 per 1 minute") as refused:
        rates.spend("a", 5)
    assert refused.value.status == 429
    assert refused.value.retry_after_seconds == pytest.approx(5)
    rates.spend("b", 5)  # another caller has its own allowance
    clock.now += 5
    rates.spend("a", 5)
    with pytest.raises(Refusal):
        rates.spend("a", 1)


def test_a_refused_request_costs_nothing_and_a_large_one_can_pass() -> None:
    clock = Clock()
    rates = RateLimiter(10, clock)
    rates.spend("a", 5)
    for _ in range(3):
        with pytest.raises(Refusal):
            rates.spend("a", 6)
    rates.spend("a", 5)
    clock.now += 60
    rates.spend("a", 1000)


def test_callers_are_forgotten_before_memory_runs_out() -> None:
    rates = RateLimiter(10, Clock())
    for number in range(RateLimiter.MAX_CALLERS + 50):
        rates.spend(str(number), 1)
    assert len(rates._left) == RateLimiter.MAX_CALLERS


def test_an_ipv6_customer_is_one_caller() -> None:
    for address in ("2001:db8:1:2:3::4", "2001:db8:1:2:ffff::1"):
        assert caller_address(address) == "2001:db8:1:2::/64"
    assert caller_address("2001:db8:1:3::4") != caller_address("2001:db8:1:2::4")
    assert caller_address("::ffff:192.0.2.7") == caller_address("192.0.2.7") == "192.0.2.7"
    assert caller_address("testclient") == "testclient"
