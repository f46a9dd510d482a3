import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** A zod schema as OpenAPI 3.1 takes it (JSON Schema 2020-12), seen from the caller's side. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // An int64 is a union for TypeScript and an integer for everybody else.
      if (jsonSchema.format === 'int64') delete jsonSchema.anyOf
      // zod bounds every integer by 2^53, which says nothing and clutters the page.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return rest
}
