import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** Converts a zod schema to JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // An int64 is a union only in TypeScript.
      if (jsonSchema.format === 'int64') delete jsonSchema.anyOf
      // zod bounds every integer by 2^53, which would only clutter the pages.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return rest
}
