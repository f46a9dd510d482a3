/** One rule of a vendor's page: a condition on the request, and the vendor's reply when it is not met. */
export type Rule<Input, Refusal> = readonly [
  holds: (input: Input) => boolean,
  refusal: Refusal | ((input: Input) => Refusal),
]

/** Returns the refusal of the first rule that is not met. Rules are in the order of the vendor's page. */
export function findRefusal<Input, Refusal extends object>(
  rules: readonly Rule<Input, Refusal>[],
  input: Input,
): Refusal | undefined {
  for (const [holds, refusal] of rules)
    if (!holds(input)) return typeof refusal === 'function' ? refusal(input) : refusal
  return undefined
}
