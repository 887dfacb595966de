"""Who is next: the client with the fewest places, and of these the one that has got least."""

from types import SimpleNamespace

from t2t_keras.serving.turns import Turns, Workplaces


def queue(clients, rows=1):
    turns = Turns()
    for client in clients:
        add(turns, client, rows)
    return turns


def add(turns, client, rows=1):
    turns.append(SimpleNamespace(client=client, rows=rows))


def served(turns, places, most=99):
    """Returns the clients in the order in which they are next, while places are free."""
    order = []
    while len(order) < most and (job := turns.first(places)):
        turns.pop(job)
        places.take([job.client])
        order.append(job.client)
    return "".join(order)


def test_clients_take_turns_and_small_jobs_are_before_large_ones():
    assert served(queue("aaabbc"), Workplaces(10)) == "abcaba"
    turns = queue("aaabbb", rows=30)
    assert served(turns, Workplaces(99), most=2) == "ab"
    add(turns, "c")
    add(turns, "c")
    assert turns.rows == 4 * 30 + 2
    assert served(turns, Workplaces(99)) == "cabcab"


def test_a_client_that_returns_has_no_advantage_and_no_disadvantage():
    turns = queue("a" * 50)
    served(turns, Workplaces(99), most=48)
    add(turns, "b")  # as if it had got 48 rows
    assert turns.got == {"a": 48, "b": 48}
    assert served(turns, Workplaces(99)) == "aba"
    assert not turns.queues and turns.rows == 0
    add(turns, "b")
    add(turns, "a")
    assert turns.got == {"a": 0, "b": 0}


def test_the_last_place_is_for_a_client_that_has_none():
    places = Workplaces(3)
    assert served(queue("aaaa"), places) == "aa"
    assert served(queue("aaab"), places) == "b"
    places.give_back(["a"])
    assert served(queue("ab"), places) == ""
    places.give_back(["b"])
    assert served(queue("a"), places) == "a"


def test_the_client_with_fewer_places_is_next_in_its_queue_and_among_queues():
    places, told = Workplaces(7), []
    for client in "aab":
        places.take(client)
    assert served(queue("abbc"), places, most=3) == "cba"
    for name, clients in (("first", "a"), ("empty", ""), ("second", "d"), ("third", "a")):
        change = SimpleNamespace(set=lambda name=name: told.append(name))
        places.waiting.append(SimpleNamespace(jobs=queue(clients), change=change))
    places.give_back("b")
    assert told == ["second", "first", "third", "empty"] and not places.waiting
