// Container health check: exits with 0 if the program is ready, otherwise with 1 and the reason on stderr.
try {
  const response = await fetch('http://127.0.0.1:7110/readyz', { signal: AbortSignal.timeout(3000) })
  if (!response.ok) process.stderr.write(`${await response.text()}\n`)
  process.exitCode = response.ok ? 0 : 1
} catch (error) {
  process.stderr.write(`/readyz does not respond: ${error.message}\n`)
  process.exitCode = 1
}
