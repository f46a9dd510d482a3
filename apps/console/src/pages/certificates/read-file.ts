/** Larger than any certificate, smaller than what the API takes. */
const MOST_BYTES = 24_000

/** A chosen file as the text of the form's field; undefined when it cannot be a certificate. */
export async function readCertificateFile(file: File, as: 'text' | 'base64'): Promise<string | undefined> {
  if (file.size > MOST_BYTES) return undefined
  const bytes = new Uint8Array(await file.arrayBuffer())
  // A .pem is text in either case: only DER must be wrapped to travel in JSON.
  const text = new TextDecoder().decode(bytes)
  if (as === 'text' || text.includes('-----BEGIN ')) return text
  return btoa(String.fromCharCode(...bytes))
}
