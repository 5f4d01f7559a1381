import pytest

from posvec.verifier.plugin.keywords import as_keyword, keywords_of


def test_an_expression_names_one_value_and_not_those_that_begin_like_it():
    name = "learned_pos_embed/seed=-1/d_model=16/T=3"
    assert keywords_of(name) == ["seed[-1]", "d_model[16]", "T[3]"]
    assert as_keyword("d_model=1 and not (seed=-1 or T=3)") == "d_model[1] and not (seed[-1] or T[3])"
    assert not any("d_model[1]" in keyword for keyword in keywords_of(name))


@pytest.mark.parametrize("expression", ["", "test_mine", "not (a or b)", "d_model[4]", "mine::test[3-4]"])
def test_an_expression_without_an_argument_stays_as_it_is(expression):
    assert as_keyword(expression) == expression
