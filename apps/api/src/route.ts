import type { Application } from '@herald/db/tenants'
import type { z } from 'zod'
import type { Code } from './codes.ts'
import type { ApiDeps } from './deps.ts'

/** Who may make a call. The rule itself is in rim/gate.ts. */
export type Access =
  /** Without a token: logins. */
  | 'public'
  /** A user, or an admin acting as one. */
  | 'user'
  /** The same, or nobody but the holder of the push token in the body. */
  | 'holder'
  /** A user or an admin. */
  | 'anyone'
  | 'admin'
  | 'operator'

/** The same for the console's own calls, which are no part of the interface. */
export type ConsoleAccess =
  /** Whoever wants to sign in. */
  | 'visitor'
  /** An admin of an application, or the operator; needs no app_id. */
  | 'console'

export type Caller =
  | { role: 'none' }
  | { role: 'user'; userId: bigint; actor: string }
  | { role: 'admin'; groupId?: bigint; actor: string }
  | { role: 'operator'; actor: string }

/** One call, authorised: handlers reach nothing outside `appId`. */
export type Context = {
  deps: ApiDeps
  /** Blank for operator calls, and where an operator means every application. */
  appId: string
  application: Application
  caller: Caller
  /** The caller's address. */
  address: string
  requestId: string
  /** How the caller's browser is known. */
  browser: Browser
}

export type Browser = {
  /** The value of the session cookie that was sent. */
  key?: string
  /** Sets or clears the cookie with the answer. */
  setCookie(value: string): void
}

export type RouteDefinition<In extends z.ZodType, Out extends z.ZodType, A = Access> = {
  method: 'get' | 'post' | 'put' | 'delete'
  path: string
  tag: string
  summary: string
  description?: string
  access: A
  /** An admin acting for a group may not make this call. */
  groupRefused?: true
  /** Most bytes of the body; USUAL_BODY when not said. */
  bodyLimit?: number
  /** A field whose text is handed over as it came, e.g. `message.ext`. */
  verbatim?: string
  limit?: 'login' | 'register'
  /** The handler gets the body itself, as a stream of any length. */
  stream?: true
  /** The body, or the query of a GET. */
  input: In
  answer: Out
  /** Codes that its handler answers with, beside those of the gate and of the reading of the input. */
  failures?: readonly Code[]
  /** What the documentation shows; it works against the demo application when pasted. */
  example?: z.input<In>
  /** The documentation shows it as the demo's user, as it does wherever only users may call. */
  shownAsUser?: true
  handler(context: Context, input: z.output<In>, verbatim?: string): Promise<z.input<Out>>
}

/** A route whose schemas nobody needs to know any more. */
export type Route<A = Access> = Omit<RouteDefinition<z.ZodType, z.ZodType, A>, 'handler' | 'example'> & {
  example?: unknown
  handler(context: Context, input: never, verbatim?: string): Promise<unknown>
}

/** Lets the schemas give the handler its types. */
export function route<In extends z.ZodType, Out extends z.ZodType, A extends Access | ConsoleAccess = Access>(
  definition: RouteDefinition<In, Out, A>,
): Route<A> {
  return definition
}
