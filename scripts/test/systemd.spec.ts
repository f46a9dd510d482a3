import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '@herald/settings'
import { describe, expect, it } from '@jest/globals'
import { programs, read, root } from './deployed-programs.ts'

const unit = read('deploy/systemd/herald@.service')
const values = (key: string) =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!)

describe('deploy/systemd', () => {
  it('starts every program from the folder of its name', () => {
    const [start] = values('ExecStart')
    const file = start!.split(' ').at(-1)!
    for (const program of programs) expect(existsSync(join(root, file.replace('%i', program)))).toBe(true)
    const [node] = start!.split(' ')
    expect(node!.replace(`${values('WorkingDirectory')[0]}/`, '')).toBe('node_modules/.bin/node')
  })

  it('gives a program the time to drain before it is killed', () => {
    expect(Number(values('TimeoutStopSec')[0])).toBeGreaterThan(30)
    expect(values('Restart')).toEqual(['always'])
  })

  it('sets known and valid settings', () => {
    const lines = [...read('deploy/systemd/herald.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)]
    const { settings, warnings } = readSettings(
      Object.fromEntries(lines.map(([, name, value]) => [name!, value!])),
    )
    expect(warnings).toEqual([])
    expect(settings).toMatchObject({ publicUrl: 'https://push.example.com', trustedProxies: 1 })
  })
})
