const key = Symbol.for('herald.testkit.open')
type Holder = { [key]?: Map<object, string> }

/** Resources that a spec file has not closed, with their description. Kept on the global object of the spec file. */
export function openResources(global: object = globalThis): Map<object, string> {
  const holder = global as Holder
  holder[key] ??= new Map()
  return holder[key]
}
