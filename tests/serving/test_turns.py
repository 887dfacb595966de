"""Who is next: the client for whom the fewest work, and of these the one that has got least."""

from types import SimpleNamespace

from t2t_keras.serving.turns import Turns, Workplaces


def queue(clients):
    turns = Turns()
    for client in clients:
        turns.append(SimpleNamespace(client=client, rows=1))
    return turns


def served(turns, places):
    """Returns the clients in the order in which they are next, while places are free."""
    order = []
    while job := turns.first(places):
        turns.pop(job)
        places.take([job.client])
        order.append(job.client)
    return "".join(order)


def test_clients_take_turns():
    assert served(queue("aaabbc"), Workplaces(10)) == "abcaba"


def test_a_small_job_is_before_large_ones_whose_turn_it_is():
    turns, places, order = Turns(), Workplaces(99), []
    for client, rows in [*[("a", 30)] * 3, *[("b", 30)] * 3]:
        turns.append(SimpleNamespace(client=client, rows=rows))
    for _ in range(7):
        job = turns.first(places)
        turns.pop(job)
        order.append(job.client)
        if len(order) == 2:
            turns.append(SimpleNamespace(client="c", rows=1))
            turns.append(SimpleNamespace(client="c", rows=1))
    assert "".join(order) == "abcabca"


def test_a_client_that_returns_has_no_advantage_and_no_disadvantage():
    turns, places = queue("a" * 50), Workplaces(99)
    for _ in range(48):
        turns.pop(turns.first(places))
    turns.append(SimpleNamespace(client="b", rows=1))  # as if it had got 48 rows
    assert served(turns, places) == "aba"
    assert not turns.queues and turns.rows == 0
    turns.append(SimpleNamespace(client="b", rows=1))
    turns.append(SimpleNamespace(client="a", rows=1))
    assert turns.got == {"a": 0, "b": 0}


def test_the_last_place_is_for_a_client_that_has_none():
    places = Workplaces(3)
    assert served(queue("aaaa"), places) == "aa"
    assert served(queue("aaab"), places) == "b"
    places.give_back(["a"])
    assert served(queue("ab"), places) == ""
    places.give_back(["b"])
    assert served(queue("a"), places) == "a"


def test_a_client_that_has_fewer_places_is_next_wherever_it_stands():
    places = Workplaces(7)
    for clients in ("a", "a", "b"):
        places.take(clients)
    assert served(queue("abbc"), places) == "cba"


def test_of_several_queues_the_one_with_such_a_client_is_told_first_of_a_free_place():
    places, told = Workplaces(4), []
    for clients in ("a", "a", "b"):
        places.take(clients)
    for name, clients in (("first", "a"), ("empty", ""), ("second", "c"), ("third", "a")):
        change = SimpleNamespace(set=lambda name=name: told.append(name))
        places.waiting.append(SimpleNamespace(jobs=queue(clients), change=change))
    places.give_back("b")
    assert told == ["second", "first", "third", "empty"] and not places.waiting
