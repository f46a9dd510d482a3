import { describe, expect, it } from '@jest/globals'
import { renewToken } from '../src/token-renewal.ts'

/** Renews the token of the application with version 3, and returns what was written and logged. */
async function renew(failing: { find?: Error; write?: Error }) {
  const written: number[] = []
  const logged: unknown[] = []
  await renewToken({
    async findApplication() {
      if (failing.find) throw failing.find
      return { tokenVersion: 3 }
    },
    write(version) {
      if (failing.write) throw failing.write
      written.push(version)
    },
    log: { warn: (fields: unknown) => void logged.push(fields) },
  })
  return { written, logged }
}

describe('the renewal of the token in demo.json', () => {
  it('writes a token of the present version', async () => {
    expect(await renew({})).toEqual({ written: [3], logged: [] })
  })

  it.each(['find', 'write'])('only logs a failure to %s', async (step) => {
    const err = new Error('no space left on device')
    expect(await renew({ [step]: err })).toEqual({ written: [], logged: [{ err }] })
  })
})
