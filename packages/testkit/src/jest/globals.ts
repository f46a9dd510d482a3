import type * as names from '@jest/globals'

const key = Symbol.for('herald.jest')
export type Globals = Omit<typeof names, 'mocked'>
type Holder = { [key]?: Globals }

/** Sets what the next spec file of this process gets when it imports `@jest/globals`. */
export function setGlobals(globals: Globals): void {
  ;(globalThis as Holder)[key] = globals
}

/** Refers to that of the spec file that runs: modules that imported it for an earlier file stay loaded. */
function current<K extends keyof Globals>(name: K): Globals[K] {
  const provided = () => (globalThis as Holder)[key]![name] as unknown as () => unknown
  const proxy: unknown = new Proxy(() => {}, {
    get: (_, property) => Reflect.get(provided(), property),
    apply: (_, self, args) => Reflect.apply(provided(), self, args),
  })
  return proxy as Globals[K]
}

export const afterAll = current('afterAll')
export const afterEach = current('afterEach')
export const beforeAll = current('beforeAll')
export const beforeEach = current('beforeEach')
export const describe = current('describe')
export const expect = current('expect')
export const it = current('it')
export const jest = current('jest')
export const test = current('test')
