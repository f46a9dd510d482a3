import type * as names from '@jest/globals'

/** What a spec file gets when it imports `@jest/globals`. */
const provided = (globalThis as unknown as { [key: symbol]: typeof names })[Symbol.for('herald.jest')]!

export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = provided
