export default async function tearDown(): Promise<void> {
  await (globalThis as { closeTestkit?: () => Promise<void> }).closeTestkit?.()
}
