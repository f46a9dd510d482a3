import { type Answer, type CallOptions, OPERATOR_KEY, type TestApi } from './harness.ts'

export type Credentials = { operator_key: string } | { app_id: string; app_secret: string }

/** Behaves like a browser with the console: keeps the cookie and sends the origin of its requests. */
export type TestBrowser = {
  cookie: string
  signIn: Answer
  call(path: string, options?: CallOptions): Promise<Answer>
}

export const operator: Credentials = { operator_key: OPERATOR_KEY }

export async function signIn(api: TestApi, credentials: Credentials): Promise<TestBrowser> {
  const answer = await api.call('/console/session', { token: null, appId: null, body: credentials })
  const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0]!
  return {
    cookie,
    signIn: answer,
    call: (path, { headers, ...options } = {}) =>
      api.call(path, {
        token: null,
        ...options,
        headers: {
          cookie,
          'x-herald-console': '1',
          origin: api.url,
          'sec-fetch-site': 'same-origin',
          ...headers,
        },
      }),
  }
}
