import type { Application } from '@herald/db/tenants'
import type { z } from 'zod'
import type { Code } from './codes.ts'
import type { ApiDeps } from './deps.ts'

const KIB = 1024
export const MIB = 1024 * KIB
export const DEFAULT_BODY_LIMIT = 64 * KIB

export function sizeText(bytes: number): string {
  return bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`
}

/** Who may make a call; checked by http/authorise.ts. */
export type Access =
  /** Needs no token: logins. */
  | 'public'
  /** A user, or an admin acting as a user. */
  | 'user'
  /** The same, or an anonymous caller that knows the push token in the body. */
  | 'holder'
  /** A user or an admin. */
  | 'anyone'
  | 'admin'
  /** An admin of the application, or the operator, who names it in the body; app_id is optional then. */
  | 'owner'
  | 'operator'

/** The same for the console's own calls, which are not part of the public API. */
export type ConsoleAccess =
  /** Anyone: sign-in. */
  | 'visitor'
  /** An admin of an application, or the operator; app_id is optional. */
  | 'console'

export type Caller =
  | { role: 'none' }
  | { role: 'user'; userId: bigint; actor: string }
  | { role: 'admin'; groupId?: bigint; actor: string }
  | { role: 'operator'; actor: string }

/** An authorised call. Handlers must not access data outside `appId`. */
export type RouteContext = {
  deps: ApiDeps
  /** Blank for operator calls and when the operator asks for all applications. */
  appId: string
  application: Application
  caller: Caller
  /** The credential is an admin's or the operator's, also when it acts as a user: such calls have no limit per address. */
  isAdminToken: boolean
  /** The caller's address. */
  address: string
  requestId: string
  browser: Browser
}

export type Browser = {
  /** The value of the session cookie in the request. */
  key?: string
  /** Sets the session cookie in the response; blank clears it. */
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
  /** The headers user_id and group_id mean nothing here and are refused. Operator calls need not say so. */
  actsForNobody?: true
  /** Maximum size of the body in bytes (default DEFAULT_BODY_LIMIT). */
  bodyLimit?: number
  /** An object whose original text is passed to the handler, e.g. `message.ext`; `list[].message.ext` passes that of each entry that has one. */
  verbatim?: string
  /** The handler itself refuses text that cannot be stored: an entry of a list that has it must not fail the others. */
  checksText?: true
  limit?: 'login' | 'register'
  /** The handler gets the body as a stream of any length. */
  stream?: true
  /** The handler returns lines of JSON in parts, which are sent without an envelope; `answer` describes a line. */
  lines?: true
  /** The body, or the query of a GET. */
  input: In
  /** Instead of `input.safeParse`, with the same results: for the calls that arrive most often. */
  read?(value: unknown): z.ZodSafeParseResult<z.output<In>>
  answer: Out
  /** Codes that the handler adds to those of access checks and input validation. */
  failures?: readonly Code[]
  /** Shown in the documentation; works against the demo application. */
  example?: z.input<In>
  /** The user that the example acts as; in the examples of routes for users it is $USER_ID. */
  shownAs?: string
  handler(
    context: RouteContext,
    input: z.output<In>,
    verbatim?: readonly string[],
  ): Promise<z.input<Out> | Lines>
}

/** Lines of JSON in parts of any size. */
export type Lines = AsyncGenerator<string, void>

/** A route with its schemas' types erased. */
export type Route<A = Access> = Omit<
  RouteDefinition<z.ZodType, z.ZodType, A>,
  'handler' | 'example' | 'read'
> & {
  example?: unknown
  read?(value: unknown): z.ZodSafeParseResult<unknown>
  handler(context: RouteContext, input: never, verbatim?: readonly string[]): Promise<unknown>
}

/** Infers the handler's types from the schemas. */
export function route<In extends z.ZodType, Out extends z.ZodType, A extends Access | ConsoleAccess = Access>(
  definition: RouteDefinition<In, Out, A>,
): Route<A> {
  return definition
}
