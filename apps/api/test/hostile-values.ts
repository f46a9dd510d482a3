import { type Dice, nastyJson, nastyTexts } from '@herald/testkit'
import type { JsonSchema } from '../src/openapi/schemas.ts'

const quoted = JSON.stringify

/** Writes values of a schema as JSON text; `known` are values of existing resources. */
export function createWriter(dice: Dice, known: Record<string, readonly unknown[]>) {
  const text = (): string => {
    if (dice.chance(0.35)) return dice.pick(nastyTexts)
    const length = dice.below(24)
    let out = ''
    for (let i = 0; i < length; i++)
      out += String.fromCharCode(dice.chance(0.9) ? 32 + dice.below(95) : dice.below(0xffff))
    return out
  }

  function value(schema: JsonSchema, name: string, depth: number): string {
    if (dice.chance(0.04)) return dice.chance(0.5) ? dice.pick(nastyJson) : quoted(text())
    if (name in known && dice.chance(0.75)) return quoted(dice.pick(known[name]!))
    const options = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined
    if (options) return value(dice.pick(options), name, depth)
    if (schema.const !== undefined) return quoted(schema.const)
    if (schema.enum) return quoted(dice.pick(schema.enum as unknown[]))
    switch (Array.isArray(schema.type) ? dice.pick(schema.type as string[]) : schema.type) {
      case 'string':
        return schema.format === 'int64' ? quoted(String(dice.below(1e9))) : quoted(text())
      case 'integer':
        return dice.chance(0.7) ? String(dice.below(20) - 1) : dice.pick(nastyJson)
      case 'number':
        return String(dice.next() * 1e6)
      case 'boolean':
        return String(dice.chance(0.5))
      case 'array': {
        const length = dice.chance(0.02) ? 600 : dice.below(4)
        return `[${Array.from({ length }, () => value((schema.items ?? {}) as JsonSchema, '', depth + 1)).join()}]`
      }
      case 'object':
        return object(schema, depth)
      default:
        return dice.chance(0.5) ? quoted(text()) : dice.pick(nastyJson)
    }
  }

  function object(schema: JsonSchema, depth: number): string {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    const required = (schema.required ?? []) as string[]
    // Only a few of the optional fields: otherwise nearly every object would have a wrong one.
    const share = Math.min(0.6, 4 / (properties.length + 1))
    const fields = properties.flatMap(([key, property]) =>
      dice.chance(required.includes(key) ? 0.97 : key in known ? 0.6 : share)
        ? [`${quoted(key)}:${value(property, key, depth + 1)}`]
        : [],
    )
    if (properties.length === 0 && depth < 6)
      for (let i = dice.below(3); i > 0; i--) fields.push(`${quoted(text())}:${dice.pick(nastyJson)}`)
    if (dice.chance(0.02)) fields.push(`${quoted(dice.pick(nastyTexts))}:1`)
    if (dice.chance(0.01) && fields[0]) fields.push(fields[0])
    return `{${fields.join()}}`
  }

  return { text, value: (schema: JsonSchema) => value(schema, '', 0) }
}
