import { type Code, codes, statusOf } from '../codes.ts'
import { DEFAULT_BODY_LIMIT, type Route, sizeText } from '../route.ts'
import { routes } from '../routes.ts'
import { failuresOf } from './failures.ts'
import { introduction } from './introduction.ts'
import { type JsonSchema, schemaOf } from './schemas.ts'

export type OpenApiDocument = {
  openapi: '3.1.0'
  info: JsonSchema
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, JsonSchema> }
}

export type Operation = {
  tags: string[]
  operationId: string
  summary: string
  description: string
  parameters: JsonSchema[]
  requestBody?: JsonSchema
  responses: Record<string, JsonSchema>
  security: Record<string, string[]>[]
}

/** Built from the same routes and schemas as the server, so that they cannot differ. */
export function openApiDocument(publicUrl?: string): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Herald', version: '1', description },
    servers: [{ url: publicUrl ?? '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Failure: failureSchema },
      securitySchemes: {
        accessToken: { type: 'apiKey', in: 'header', name: 'access-token' },
        bearerToken: { type: 'http', scheme: 'bearer', description: 'The same token as in access-token.' },
        operatorKey: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

const description = `${introduction.join('\n\n')}

The console's session cookie replaces the access-token of an admin, or the operator key. A request that uses it must have the header x-herald-console: 1 and come from the console's own origin.

In examples, replace names like $PUSH_TOKEN with your own values; /docs shows how to get them from the demo application.

| code | when |
|---|---|
${Object.entries(codes)
  .map(([code, when]) => `| ${code} | ${when} |`)
  .join('\n')}`

const failureSchema: JsonSchema = {
  type: 'object',
  properties: {
    code: { type: 'integer', format: 'int32', enum: Object.keys(codes).map(Number) },
    data: { type: 'null' },
    message: { type: 'string' },
  },
  required: ['code', 'data', 'message'],
}

export function operationOf(route: Route): Operation {
  return {
    tags: [route.tag],
    operationId: operationId(route),
    summary: route.summary,
    description: [route.description, accessText[route.access], route.groupRefused && groupText]
      .filter(Boolean)
      .join('\n\n'),
    parameters: [...headersOf(route), ...queryOf(route)],
    requestBody: bodyOf(route),
    responses: responsesOf(route),
    security: securityOf(route),
  }
}

function operationId({ method, path }: Route): string {
  const words = path.split('/').filter(Boolean)
  return [method, ...words].join('_')
}

export const accessText: Record<Route['access'], string> = {
  public: 'Requires no access-token.',
  user: 'Requires a user token, or an admin token with the header user_id.',
  holder: 'The access-token is optional, but must be valid if sent.',
  anyone: 'Requires a user token or an admin token.',
  admin: 'Requires an admin token.',
  owner: 'Requires an admin token, or the operator key, sent as `authorization: Bearer …`.',
  operator: 'Requires the operator key, sent as `authorization: Bearer …`; app_id is not needed.',
}
export const groupText = 'Refused (40301) for an admin acting for a group.'

function headersOf({ access, actsForNobody, shownAs }: Route): JsonSchema[] {
  if (access === 'operator') return []
  const int64 = { type: 'integer', format: 'int64' }
  const appId = {
    name: 'app_id',
    in: 'header',
    required: access !== 'owner',
    schema: { type: 'string' },
    description: `App ID; or as x-app-id.${access === 'owner' ? ' Not needed with the operator key.' : ''}`,
  }
  if (actsForNobody) return [appId]
  const example = shownAs ?? (access === 'user' ? '$USER_ID' : undefined)
  return [
    appId,
    {
      name: 'group_id',
      in: 'header',
      required: false,
      schema: int64,
      description: 'With an admin token: act as an admin of this group. Or as x-group-id.',
    },
    {
      name: 'user_id',
      in: 'header',
      required: false,
      schema: int64,
      description:
        'With an admin token: act as this user. With a user token: must be the user’s own id. Or as x-user-id.',
      ...(example !== undefined && { example }),
    },
  ]
}

function queryOf(route: Route): JsonSchema[] {
  if (route.method !== 'get') return []
  const { properties = {}, required = [] } = schemaOf(route.input, 'input') as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(route.example !== undefined && { example: (route.example as Record<string, unknown>)[name] }),
  }))
}

function bodyOf(route: Route): JsonSchema | undefined {
  if (route.method === 'get') return undefined
  if (route.stream)
    return {
      required: true,
      content: { 'application/x-ndjson': { schema: { type: 'string' }, example: route.example } },
    }
  return {
    required: !route.input.safeParse({}).success,
    description: `At most ${sizeText(route.bodyLimit ?? DEFAULT_BODY_LIMIT)}.`,
    content: {
      'application/json': {
        schema: schemaOf(route.input, 'input'),
        ...(route.example !== undefined && { example: route.example }),
      },
    },
  }
}

export const NDJSON = 'application/x-ndjson'

function responsesOf(route: Route): Record<string, JsonSchema> {
  const byStatus = new Map<number, Code[]>()
  for (const code of failuresOf(route)) {
    const status = statusOf(code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const data = schemaOf(route.answer, 'output')
  const responses: Record<string, JsonSchema> = {
    200: {
      description: route.lines ? 'Success; one object per line, without an envelope.' : 'Success.',
      content: route.lines
        ? { [NDJSON]: { schema: data } }
        : {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  code: { type: 'integer', format: 'int32', const: 200 },
                  data,
                  message: { type: 'null' },
                },
                required: ['code', 'data', 'message'],
              },
            },
          },
    },
  }
  for (const [status, list] of byStatus)
    responses[status] = {
      description: list.map((code) => `${code}: ${codes[code]}`).join('\n\n'),
      ...((status === 429 || status === 503) && {
        headers: { 'retry-after': { schema: { type: 'integer' }, description: 'Seconds to wait.' } },
      }),
      content: {
        'application/json': { schema: { allOf: [failureRef, { properties: { code: { enum: list } } }] } },
      },
    }
  return responses
}

const failureRef = { $ref: '#/components/schemas/Failure' }

/** Returns the failure codes of an operation. */
export function codesOf({ responses }: Operation): Code[] {
  return Object.values(responses).flatMap(({ content }) => {
    const json = (content as { 'application/json'?: { schema: { allOf?: FailureParts } } })[
      'application/json'
    ]
    return json?.schema.allOf?.[1].properties.code.enum ?? []
  })
}

type FailureParts = [ref: object, own: { properties: { code: { enum: Code[] } } }]

function securityOf({ access }: Route): Record<string, string[]>[] {
  if (access === 'public') return []
  if (access === 'operator') return [{ operatorKey: [] }]
  const token: Record<string, string[]>[] = [{ accessToken: [] }, { bearerToken: [] }]
  if (access === 'owner') return [{ operatorKey: [] }, ...token]
  return access === 'holder' ? [{}, ...token] : token
}
