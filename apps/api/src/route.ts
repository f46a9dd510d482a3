import type { Application } from '@herald/db'
import type { z } from 'zod'
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

export type Caller =
  | { role: 'none' }
  | { role: 'user'; userId: bigint; actor: string }
  | { role: 'admin'; groupId?: bigint; actor: string }
  | { role: 'operator'; actor: string }

/** One call, authorised: handlers reach nothing outside `appId`. */
export type Context = {
  deps: ApiDeps
  /** Blank for operator calls. */
  appId: string
  application: Application
  caller: Caller
  /** The caller's address. */
  address: string
  requestId: string
}

export type RouteDefinition<In extends z.ZodType, Out extends z.ZodType> = {
  method: 'get' | 'post' | 'put' | 'delete'
  path: string
  tag: string
  summary: string
  description?: string
  access: Access
  /** An admin acting for a group may not make this call. */
  groupRefused?: true
  /** Most bytes of the body; 64 KiB when not said. */
  bodyLimit?: number
  /** A field whose text is handed over as it came, e.g. `message.ext`. */
  verbatim?: string
  limit?: 'login' | 'register'
  /** The handler gets the body itself, as a stream of any length. */
  stream?: true
  /** The body, or the query of a GET. */
  input: In
  answer: Out
  /** What the documentation shows; it works against the demo application when pasted. */
  example?: z.input<In>
  handler(context: Context, input: z.output<In>, verbatim?: string): Promise<z.input<Out>>
}

/** A route whose schemas nobody needs to know any more. */
export type Route = Omit<RouteDefinition<z.ZodType, z.ZodType>, 'handler' | 'example'> & {
  example?: unknown
  handler(context: Context, input: never, verbatim?: string): Promise<unknown>
}

/** Lets the schemas give the handler its types. */
export function route<In extends z.ZodType, Out extends z.ZodType>(
  definition: RouteDefinition<In, Out>,
): Route {
  return definition
}

export const MIB = 1024 * 1024
