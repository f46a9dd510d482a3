import type { Database } from '@herald/db'

/** What becomes of a device by the text of its tokens: the channels that must have accepted it once all is over. */
export type Expectation = { sentOn: string | null; failedOn: string | null; movedFrom: string[] }

type Kind = { share: number; tokens(n: number): Record<string, string>; expect: Expectation }

const kinds: Kind[] = [
  {
    share: 60,
    tokens: (n) => ({ xiaomi: `${n}:accepted` }),
    expect: { sentOn: 'xiaomi', failedOn: null, movedFrom: [] },
  },
  {
    share: 10,
    tokens: (n) => ({ oppo: `${n}:throttled,unavailable,throttled,accepted` }),
    expect: { sentOn: 'oppo', failedOn: null, movedFrom: [] },
  },
  {
    share: 10,
    tokens: (n) => ({ huawei: `${n}:unavailable,accepted` }),
    expect: { sentOn: 'huawei', failedOn: null, movedFrom: [] },
  },
  {
    share: 10,
    tokens: (n) => ({ oppo: `${n}:accepted`, xiaomi: `${n}:rejected` }),
    expect: { sentOn: 'oppo', failedOn: null, movedFrom: ['xiaomi'] },
  },
  {
    share: 5,
    tokens: (n) => ({ huawei: `${n}:accepted`, oppo: `${n}:gone`, xiaomi: `${n}:rejected` }),
    expect: { sentOn: 'huawei', failedOn: null, movedFrom: ['xiaomi', 'oppo'] },
  },
  {
    share: 5,
    tokens: (n) => ({ huawei: `${n}:rejected` }),
    expect: { sentOn: null, failedOn: 'huawei', movedFrom: [] },
  },
]

export function kindOf(n: number): Kind {
  let at = n % 100
  for (const kind of kinds) {
    if (at < kind.share) return kind
    at -= kind.share
  }
  return kinds[0]!
}

/** Devices 0..count-1 of an application; device n has the tokens of its kind and the alias `d<n>`. */
export async function populate(db: Database, appId: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 10_000) {
    const numbers = Array.from({ length: Math.min(10_000, count - from) }, (_, i) => from + i)
    const { rows } = await db.pool.query<{ id: number; alias: string }>(
      `INSERT INTO device (app_id, guid, push_token, platform, alias, moved_at)
       SELECT $1, $1 || n, $1 || '-' || n, 'android', 'd' || n, now() - interval '1 hour' FROM unnest($2::int[]) n
       RETURNING id, alias`,
      [appId, numbers],
    )
    const bindings = rows.flatMap(({ id, alias }) =>
      Object.entries(kindOf(Number(alias.slice(1))).tokens(Number(alias.slice(1)))).map(
        ([channel, token], age) => ({ id, channel, token, age }),
      ),
    )
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token, registered_at)
       SELECT b.id, b.channel, $1, b.token, now() - interval '1 hour' + b.age * interval '1 second'
       FROM unnest($2::bigint[], $3::text[], $4::text[], $5::int[]) AS b (id, channel, token, age)`,
      [
        appId,
        bindings.map((b) => b.id),
        bindings.map((b) => b.channel),
        bindings.map((b) => b.token),
        bindings.map((b) => b.age),
      ],
    )
  }
}

export type Counts = Record<string, { target: number; sent: number; failed: number; moved: number }>

/** Counters that a finished task to these devices must show. */
export function expectedCounts(devices: Iterable<number>, retired: boolean): Counts {
  const counts: Counts = {}
  const of = (channel: string) => {
    counts[channel] ??= { target: 0, sent: 0, failed: 0, moved: 0 }
    return counts[channel]
  }
  for (const n of devices) {
    const { sentOn, failedOn, movedFrom } = kindOf(n).expect
    for (const channel of movedFrom) {
      // A token that the vendor called gone is not planned for a second time.
      if (retired && kindOf(n).tokens(n)[channel]?.endsWith(':gone')) continue
      of(channel).target++
      of(channel).moved++
    }
    if (sentOn) {
      of(sentOn).target++
      of(sentOn).sent++
    }
    if (failedOn) {
      of(failedOn).target++
      of(failedOn).failed++
    }
  }
  return counts
}
