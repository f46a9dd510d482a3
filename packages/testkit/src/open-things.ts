const key = Symbol.for('herald.testkit.open')
type Holder = { [key]?: Map<object, string> }

/** What a spec file opened and has not closed, by description; lives on the global object of the spec file. */
export function openThings(global: object = globalThis): Map<object, string> {
  const holder = global as Holder
  holder[key] ??= new Map()
  return holder[key]
}
