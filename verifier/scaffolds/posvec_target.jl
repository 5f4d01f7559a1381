# The function under test, behind posvec's protocol. Needs Julia and no packages.
#
#     posvec verify --match equivalent --exec julia posvec_target.jl

const STREAM = Ref("partitionable") # or "original", the random stream before JAX 0.5: which of them posvec asks for

# ---- The function under test: fill this in. --------------------------------------------------------------------------

const NAME = "my port"
const VERSION_OF_PORT = "0.1"

# Returns the first T rows of the table, T * d_model values row by row, as a vector of Float32. (Julia's matrices are
# stored column by column: of a matrix with T rows, return vec(permutedims(matrix)).) T may be 0. seed is an Int64.
# Compare your stages with those that this prints:
#     posvec show --seed 7 --d-model 4 --explain --position 0 --feature 0
function learned_pos_embed_forward(seed, T, d_model)
    error("not implemented: fill in learned_pos_embed_forward")
end

# ---- The protocol (docs/protocol.md of posvec): nothing to change below. --------------------------------------------

# Julia has no JSON of its own. A request is flat and holds integers only, so a pattern reads it.
field(line, key) = parse(Int64, match(Regex("\"" * key * "\" *: *(-?[0-9]+)"), line).captures[1])

# A Float64 prints as JSON writes numbers, and holds every Float32.
number(value) = isfinite(value) ? string(Float64(value)) : isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"

plain(text) = map(c -> c == '"' || c == '\\' || iscntrl(c) ? '\'' : c, text)

function answer(line)
    id = field(line, "id")
    try
        values = learned_pos_embed_forward(field(line, "seed"), field(line, "T"), field(line, "d_model"))
        return "{\"id\": $id, \"values\": [" * join(map(number, values), ", ") * "]}"
    catch problem
        return "{\"id\": $id, \"error\": \"" * plain(sprint(showerror, problem)) * "\"}"
    end
end

for line in eachline(stdin)
    if occursin("\"protocol\"", line)
        STREAM[] = occursin("\"original\"", line) ? "original" : "partitionable"
        println("{\"protocol\": 1, \"name\": \"$NAME\", \"version\": \"$VERSION_OF_PORT\", \"language\": \"Julia\"}")
    else
        println(answer(line))
    end
    flush(stdout)
end
