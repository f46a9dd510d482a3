/**
 * Time limit of a spec. It only ends specs that hang: a machine without free CPU time, as in CI, needs minutes for what otherwise takes
 * a second.
 */
export const specSeconds = process.env.CI ? 600 : 240

/** A wait ends a little before the spec, so that the failure says what was waited for. */
export const waitSeconds = specSeconds - 40
