import { type Connection, dropPresence, type Greeted, greetDevices } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import { createGatherer } from './gather.ts'

export type Greeter = {
  /** Looks a device up and notes it as connected here; undefined when nobody has the token. */
  greet(pushToken: string): Promise<Greeted | undefined>
  /** Takes the presence of an ended connection back. */
  leave(connection: Connection): void
  flushed(): Promise<void>
}

type Waiting = {
  pushToken: string
  resolve(greeted: Greeted | undefined): void
  reject(error: unknown): void
}

/** Presence in bulk: a storm of reconnections costs a statement a group, not one a device. */
export function createGreeter(deps: {
  db: Database
  node(): string
  onTrouble(error: unknown): void
  giveUp(): boolean
}): Greeter {
  const { db } = deps
  const hellos = createGatherer<Waiting>({
    ms: 15,
    most: 500,
    async take(waiting) {
      try {
        const greeted = await greetDevices(
          db,
          deps.node(),
          waiting.map(({ pushToken }) => pushToken),
        )
        waiting.forEach(({ resolve }, i) => {
          resolve(greeted[i])
        })
      } catch (error) {
        deps.onTrouble(error)
        for (const { reject } of waiting) reject(error)
      }
    },
  })
  const goodbyes = createGatherer<Connection>({
    ms: 50,
    most: 1000,
    async take(ended) {
      // A row that stayed would make the device look online for as long as this node lives.
      while (!deps.giveUp()) {
        try {
          return await dropPresence(db, ended)
        } catch (error) {
          deps.onTrouble(error)
          await new Promise((resolve) => setTimeout(resolve, 500))
        }
      }
    },
  })
  return {
    greet: (pushToken) => new Promise((resolve, reject) => hellos.add({ pushToken, resolve, reject })),
    leave: (connection) => goodbyes.add(connection),
    async flushed() {
      await hellos.flushed()
      await goodbyes.flushed()
    },
  }
}
