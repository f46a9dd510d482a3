export type Environment = 'production' | 'development'

/** As rows hold it. */
export function environmentNumber(environment: Environment): 0 | 1 {
  return environment === 'production' ? 1 : 0
}

export function environmentOf(number: number): Environment {
  return number === 1 ? 'production' : 'development'
}
