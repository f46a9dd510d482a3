import type { Identity } from '@herald/client'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { UsageFailure } from '../failure.ts'
import type { Io } from '../io.ts'
import { openShell, readNamed } from '../shell.ts'

type SetFlags = {
  issuer: string
  audience: string
  jwksUrl?: string
  publicKey?: string
  userClaim?: string
}

export function addIdentityCommands(program: Command): void {
  const identity = program
    .command('identity')
    .description(
      'How the sign-in tokens of your own system are checked, so that users need no password in Herald',
    )
  identity
    .command('show')
    .description('Show the settings')
    .addHelpText('after', examples('identity show'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const found = await asAdmin((server) => server.identity())
      if (!found) {
        io.record(null)
        io.say('Sign-in tokens of your own system are not accepted: nothing is set.')
      } else show(io, found)
    })
  identity
    .command('set')
    .description('Accept sign-in tokens of this issuer at POST /token/exchange')
    .requiredOption('--issuer <url>', 'the claim iss')
    .requiredOption('--audience <text>', 'the claim aud')
    .option('--jwks-url <url>', 'address of the public keys')
    .option('--public-key <file>', 'file with one public key (PEM), instead of an address; - is stdin')
    .option('--user-claim <name>', 'the claim with the name of the user (default: sub)')
    .addHelpText(
      'after',
      examples(
        'identity set --issuer https://id.example.com --audience shop --jwks-url https://id.example.com/jwks.json',
        'identity set --issuer https://id.example.com --audience shop --public-key key.pem --user-claim uid',
      ),
    )
    .action(async (flags: SetFlags, command: Command) => {
      const { issuer, audience, jwksUrl, publicKey, userClaim } = flags
      if ((jwksUrl === undefined) === (publicKey === undefined))
        throw new UsageFailure('Use either --jwks-url or --public-key.')
      const keys =
        jwksUrl !== undefined
          ? { jwks_url: jwksUrl }
          : { public_key: readNamed(publicKey!, '--public-key').toString('utf8') }
      const { io, asAdmin } = openShell(command)
      show(
        io,
        await asAdmin((server) => server.putIdentity({ issuer, audience, user_claim: userClaim, ...keys })),
      )
    })
  identity
    .command('remove')
    .description('Accept no more sign-in tokens of your own system')
    .addHelpText('after', examples('identity remove'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      await asAdmin((server) => server.removeIdentity())
      io.record({ removed: true })
      io.say('Sign-in tokens of your own system are not accepted any more.')
    })
}

function show(io: Io, identity: Identity): void {
  io.record(identity)
  io.say(`issuer      ${identity.issuer}`)
  io.say(`audience    ${identity.audience}`)
  io.say(
    `keys        ${identity.jwks_url ?? 'one public key'} (${identity.keys.map(({ alg }) => alg).join(', ')})`,
  )
  io.say(`user_claim  ${identity.user_claim}`)
}
