import { ModernFakeTimers } from '@jest/fake-timers'
import type { jest } from '@jest/globals'
import type { Config } from '@jest/types'
import { ModuleMocker } from 'jest-mock'

/** The functions of the object `jest` that specs may use. Those that replace modules are missing: a process has only one graph of modules. */
type JestObject = Pick<
  typeof jest,
  | 'advanceTimersByTime'
  | 'advanceTimersByTimeAsync'
  | 'fn'
  | 'getTimerCount'
  | 'restoreAllMocks'
  | 'setSystemTime'
  | 'setTimeout'
  | 'spyOn'
  | 'useFakeTimers'
  | 'useRealTimers'
>

const testTimeout = Symbol.for('TEST_TIMEOUT_SYMBOL')

export function createJestObject(config: Config.ProjectConfig): {
  jest: JestObject
  fakeTimers: ModernFakeTimers
} {
  const mocker = new ModuleMocker(globalThis)
  const fakeTimers = new ModernFakeTimers({ config, global: fakedGlobal() })
  const object: JestObject = {
    advanceTimersByTime: (ms) => fakeTimers.advanceTimersByTime(ms),
    advanceTimersByTimeAsync: (ms) => fakeTimers.advanceTimersByTimeAsync(ms),
    fn: mocker.fn.bind(mocker) as JestObject['fn'],
    getTimerCount: () => fakeTimers.getTimerCount(),
    restoreAllMocks: () => {
      mocker.restoreAllMocks()
      return object as typeof jest
    },
    setSystemTime: (now) => fakeTimers.setSystemTime(now),
    setTimeout: (ms) => {
      Object.assign(globalThis, { [testTimeout]: ms })
      return object as typeof jest
    },
    spyOn: mocker.spyOn.bind(mocker) as JestObject['spyOn'],
    useFakeTimers: (options) => {
      fakeTimers.useFakeTimers(options as Config.FakeTimersConfig)
      return object as typeof jest
    },
    useRealTimers: () => {
      fakeTimers.useRealTimers()
      return object as typeof jest
    },
  }
  return { jest: object, fakeTimers }
}

/**
 * The global object for fake timers, but with another `process`: Node's own streams and sockets call `process.nextTick`, and would stand
 * still with a fake one (`fetch` does, because it uses the global `queueMicrotask`). As it is not identical to the global object, `node:timers` and `node:timers/promises` stay real.
 */
function fakedGlobal(): typeof globalThis {
  const ownProcess = Object.create(process)
  return new Proxy(globalThis, {
    get: (target, name) => (name === 'process' ? ownProcess : Reflect.get(target, name)),
  })
}
