/** Who is erased: a user with all its devices, all devices with an alias, or one device. */
export type Person = { userId: bigint } | { alias: string } | { guid: string }
