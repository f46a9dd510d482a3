import { inspectOwnSettings } from '@herald/settings'
import type { Command } from 'commander'
import { type Finding, type State, worst } from '../doctor/finding.ts'
import { examples } from '../examples.ts'
import { Unsatisfied } from '../failure.ts'
import { openIo } from '../io.ts'
import { type GlobalFlags, locate } from '../shell.ts'
import { plural } from '../words.ts'

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Look at settings, Postgres, queue, migrations, keys, certificates, vendors, clock and books; changes nothing',
    )
    .option('--no-vendors', 'leave the vendors alone, where there is no way out')
    .addHelpText(
      'after',
      `
Run it with the environment that the programs run with. Exit code 1 when a line says fail.
${examples('doctor', 'doctor --no-vendors --json')}`,
    )
    .action(async (flags: GlobalFlags & { vendors: boolean }, command: Command) => {
      // A wrong setting is a finding here, not the end.
      const inspection = inspectOwnSettings()
      const globals = command.optsWithGlobals<GlobalFlags>()
      const io = openIo(Boolean(globals.json))
      const { dataDir, demo, place } = locate(globals, inspection.settings)
      const findings: Finding[] = []
      const { examine } = await import('../doctor/examine.ts')
      await examine(
        { inspection, dataDir, demo, baseUrl: place.baseUrl, vendors: flags.vendors },
        (finding) => {
          findings.push(finding)
          const { area, state, what, advice } = finding
          io.say(`${area.padEnd(13)}${io.paint(colours[state], state.padEnd(6))}${what}`)
          if (advice !== undefined) io.say(`${' '.repeat(19)}→ ${advice}`)
        },
      )
      io.record({ ok: worst(findings) !== 'fail', findings })
      io.say(`\n${verdict(findings)}`)
      if (worst(findings) === 'fail') throw new Unsatisfied()
    })
}

function verdict(findings: Finding[]): string {
  const number = (state: State) => findings.filter((finding) => finding.state === state).length
  const [warn, fail] = [number('warn'), number('fail')]
  if (fail === 0 && warn === 0) return 'All is well.'
  return `${plural(fail, 'failure')}, ${plural(warn, 'warning')}.`
}
