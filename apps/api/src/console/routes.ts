import type { ConsoleAccess, Route } from '../route.ts'
import { overview, series } from './overview.ts'
import { signIn, signOut, whoAmI } from './session.ts'
import { addSimulatedCredentials } from './simulated-credentials.ts'
import { taskApplication } from './task-application.ts'

/** The console's own calls. They have the same access checks but are not part of the public API: they change with the console. */
export const consoleRoutes: readonly Route<ConsoleAccess>[] = [
  signIn,
  whoAmI,
  signOut,
  overview,
  series,
  taskApplication,
  addSimulatedCredentials,
]
