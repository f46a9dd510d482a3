import { Command } from 'commander'
import { addAppCommands } from './commands/app.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addBalanceCommand } from './commands/balance.ts'
import { addCertificateCommands } from './commands/certificate.ts'
import { addCountCommand } from './commands/count.ts'
import { addDatabaseUrlCommand } from './commands/database-url.ts'
import { addDeviceCommands } from './commands/device.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addIdentityCommands } from './commands/identity.ts'
import { addNotifyCommands } from './commands/notify.ts'
import { addNotifyBatchCommand } from './commands/notify-batch.ts'
import { addStatsCommand } from './commands/stats.ts'
import { addTagCommands } from './commands/tag.ts'
import { addTaskCommands } from './commands/task.ts'
import { addUserCommands } from './commands/user.ts'
import { addWebhookCommands } from './commands/webhook.ts'
import { examples, HERALD } from './examples.ts'

/** Formats commander's error messages like ours: one line, capital first letter, full stop. */
function asSentence(text: string): string {
  const line = text
    .trim()
    .replace(/^error: /, '')
    .replaceAll(/\s+/g, ' ')
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}${/[.)]$/.test(line) ? '' : '.'}`
}

/** The whole command line. A command reads flags, makes one call, and prints text or JSON. */
export function createProgram(): Command {
  const program = new Command(HERALD)
  program
    .description(
      'Manage Herald from a terminal: applications, certificates, devices, pushes and health checks.',
    )
    .option('--url <address>', 'URL of the HTTP interface (HERALD_URL)')
    .option('--app <app_id>', 'application to act for (HERALD_APP_ID)')
    .option('--secret-file <file>', 'file with the secret of the application; - is stdin')
    .option('--secret <app_secret>', 'the secret itself, visible in the process list (HERALD_APP_SECRET)')
    .option('--operator-key-file <file>', 'file with the operator key; - is stdin')
    .option('--operator-key <key>', 'the key itself, visible in the process list (HERALD_OPERATOR_KEY)')
    .option('--data-dir <folder>', 'data directory of a standalone on this machine (HERALD_DATA_DIR)')
    .option('--json', 'print only JSON to stdout: one object, or one per line')
    .addHelpText(
      'after',
      `
By default, the demo application of the standalone on this machine is used (run npm start first).
Exit codes: 0 success, 1 failure, 2 invalid arguments.
${examples('notify --all --title Hello --wait', 'device import devices.ndjson', 'task list', 'doctor')}
  $ npm run -s herald -- task list --json   (-s suppresses npm's own output)`,
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(`${asSentence(text)}\n`) })
    .exitOverride()
  addAppCommands(program)
  addUserCommands(program)
  addCertificateCommands(program)
  addDeviceCommands(program)
  addTagCommands(program)
  addIdentityCommands(program)
  addNotifyCommands(program)
  addNotifyBatchCommand(program)
  addCountCommand(program)
  addTaskCommands(program)
  addStatsCommand(program)
  addWebhookCommands(program)
  addAuditCommands(program)
  addDoctorCommand(program)
  addBalanceCommand(program)
  addDatabaseUrlCommand(program)
  return program
}
