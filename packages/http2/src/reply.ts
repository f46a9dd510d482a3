/** A complete reply. Header names are lower case; the values of a repeated name are joined by a comma. */
export class Reply {
  readonly status: number
  readonly body: Buffer
  private readonly fields: readonly string[]

  constructor(status: number, fields: readonly string[], body: Buffer) {
    this.status = status
    this.fields = fields
    this.body = body
  }

  /** Cheaper than `headers`, which builds an object per call. */
  header(name: string): string | undefined {
    return lookUp(this.fields, name)
  }

  get headers(): Record<string, string> {
    return gather(this.fields)
  }
}

function lookUp(fields: readonly string[], name: string): string | undefined {
  let found: string | undefined
  for (let at = 0; at < fields.length; at += 2) {
    if (fields[at] === name) found = found === undefined ? fields[at + 1] : `${found}, ${fields[at + 1]}`
  }
  return found
}

function gather(fields: readonly string[]): Record<string, string> {
  // Without a prototype, so that no header name collides with an inherited member.
  const headers: Record<string, string> = Object.create(null)
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!
    if (name.charCodeAt(0) === 58) continue
    const value = fields[at + 1]!
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return headers
}
