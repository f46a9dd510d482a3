import type { ConsoleAccess, Route } from '../route.ts'
import { overview } from './overview.ts'
import { signIn, signOut, whoAmI } from './session.ts'

/** The console's own calls. They pass the same gate as the interface, but are no part of it: they change with the console. */
export const consoleRoutes: readonly Route<ConsoleAccess>[] = [signIn, whoAmI, signOut, overview]
