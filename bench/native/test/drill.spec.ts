import { testDatabase } from '@herald/testkit/database'
import { expect, it } from '@jest/globals'
import { runNativeDrill } from '../drill.ts'

it('delivers under every strategy to devices that move, go offline and die, despite kill -9 and a rolling restart', async () => {
  const database = await testDatabase()
  const report = await runNativeDrill({
    devices: 250,
    broadcasts: 30,
    seed: 11,
    databaseUrl: database.url,
    log: () => {},
  })
  await database.drop()
  expect(report.broken).toEqual([])
  expect(report.kills).toBe(3)
  expect(report.samples).toBeGreaterThan(20)
  expect(report.shown).toBeGreaterThan(1000)
})
