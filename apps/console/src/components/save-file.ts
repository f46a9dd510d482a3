/** Lets the browser save a file as a download. */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has begun, but the browser may still read from the address.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
