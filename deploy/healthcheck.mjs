// For container engines: 0 when this program is ready, 1 with the reason when it is not.
try {
  const answer = await fetch('http://127.0.0.1:7110/readyz', { signal: AbortSignal.timeout(3000) })
  if (!answer.ok) process.stderr.write(`${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
} catch (error) {
  process.stderr.write(`/readyz does not answer: ${error.message}\n`)
  process.exitCode = 1
}
