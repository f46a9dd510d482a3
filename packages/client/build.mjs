// Writes dist: plain ES modules with types that need no other package. `node build.mjs [folder]`
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

const dist = resolve(process.argv[2] ?? join(import.meta.dirname, 'dist'))
const typescript = createRequire(import.meta.url).resolve('typescript/package.json')
const flags =
  '--ignoreConfig --declaration --module nodenext --target es2022 --lib es2024,dom --rewriteRelativeImportExtensions --strict'

function compile(outDir, ...rest) {
  execFileSync(
    process.execPath,
    [join(typescript, '../lib/tsc.js'), ...flags.split(' '), '--outDir', outDir, ...rest],
    { cwd: import.meta.dirname, stdio: 'inherit' },
  )
}

rmSync(dist, { recursive: true, force: true })
compile(dist, 'src/index.ts', 'src/device.ts')
// Types of the vendors are derived from their cards. tsc does not emit the files of another package, so they are compiled apart.
compile(join(dist, 'cards'), '../channels/src/cards.ts', '--emitDeclarationOnly')
for (const file of readdirSync(dist).filter((name) => name.endsWith('.d.ts'))) {
  const text = readFileSync(join(dist, file), 'utf8')
  writeFileSync(join(dist, file), text.replaceAll("'@herald/channels/cards'", "'./cards/cards.ts'"))
}
const { name, version, license, type, description } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'),
)
const entry = (file) => ({ types: `./${file}.d.ts`, default: `./${file}.js` })
// With it, `npm install <folder>` makes the documented imports work.
writeFileSync(
  join(dist, 'package.json'),
  `${JSON.stringify({ name, version, license, type, description, exports: { '.': entry('index'), './device': entry('device') } }, null, 2)}\n`,
)
