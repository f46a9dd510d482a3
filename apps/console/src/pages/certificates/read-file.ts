/** Larger than any certificate, smaller than the API's limit. */
const MAX_BYTES = 24_000

/** Returns a file as the text of the form's field; undefined if it is too large. */
export async function readCertificateFile(file: File, as: 'text' | 'base64'): Promise<string | undefined> {
  if (file.size > MAX_BYTES) return undefined
  const bytes = new Uint8Array(await file.arrayBuffer())
  // PEM is text in both cases; only DER needs base64 in JSON.
  const text = new TextDecoder().decode(bytes)
  if (as === 'text' || text.includes('-----BEGIN ')) return text
  return btoa(String.fromCharCode(...bytes))
}
