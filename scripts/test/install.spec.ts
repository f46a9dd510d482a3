import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

const installModule = join(import.meta.dirname, '..', 'install.mjs')
// The module knows the package that contains Node; the spec takes its name from there.
const nodePackage = new RegExp(`'${process.platform}-${process.arch}': '(.*)'`).exec(
  readFileSync(installModule, 'utf8'),
)![1]!

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'herald-install-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function write(path: string, content: object | string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), typeof content === 'string' ? content : JSON.stringify(content))
}
const installed = (path: string) => existsSync(join(root, 'node_modules', path))

/** A clone whose dependencies are folders in it, so that npm needs no registry. */
function writeClone(): void {
  const optionalDependencies = { [nodePackage]: 'file:lib/node', '@swc/core': 'file:lib/swc' }
  write('package.json', {
    name: 'clone',
    version: '1.0.0',
    devDependencies: { tool: 'file:lib/tool' },
    optionalDependencies,
  })
  write('lib/tool/package.json', { name: 'tool', version: '1.0.0' })
  write('lib/node/package.json', { name: nodePackage, version: '24.0.0' })
  write(`lib/node/bin/${process.platform === 'win32' ? 'node.exe' : 'node'}`, '')
  write('lib/swc/package.json', {
    name: '@swc/core',
    version: '1.0.0',
    scripts: { postinstall: `node -e "fs.writeFileSync('prepared', '')"` },
  })
  npm('install', '--package-lock-only')
}

function npm(...args: string[]): void {
  const { status, stderr } = spawnSync('npm', [...args, '--offline'], { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

describe('the installation', () => {
  it.each([
    ['NODE_ENV', 'production'],
    ['npm_config_omit', 'optional'],
  ])('is complete if %s is %s and the user has turned scripts off', (name, value) => {
    writeClone()
    const code = `import { installDependencies, isInstalled } from ${JSON.stringify(installModule)}
      await installDependencies(process.cwd(), { addOwner() {} })
      process.exit(isInstalled(process.cwd()) ? 0 : 9)`
    const env = {
      ...process.env,
      [name]: value,
      npm_config_ignore_scripts: 'true',
      npm_config_offline: 'true',
    }
    const args = ['--input-type=module', '--eval', code]
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, expect.stringContaining('preparing binaries: done')])
    expect([installed('tool'), installed(nodePackage), installed('@swc/core/prepared')]).toEqual([
      true,
      true,
      true,
    ])
  })
})
