import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type Node, parseSync } from '@swc/core'

export type Import = { specifier: string; typeOnly: boolean }

/** One source file: its path from the root with forward slashes, its imports, and whether it reads the environment. */
export type SourceFile = { path: string; imports: Import[]; readsEnvironment: boolean }

export function readSourceFiles(root: string): SourceFile[] {
  return globSync('{packages,apps,bench}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: (path) => /(^|[\\/])(node_modules|generated|dist)$/.test(path),
  })
    .filter((path) => !path.endsWith('.d.ts'))
    .map((path) => readSource(path.split(sep).join('/'), readFileSync(join(root, path), 'utf8')))
}

/** Parsed, because a regular expression would find imports in comments and strings. */
export function readSource(path: string, text: string): SourceFile {
  const file: SourceFile = { path, imports: [], readsEnvironment: false }
  visit(parseSync(text, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'esnext' }), file)
  return file
}

// biome-ignore lint/suspicious/noExplicitAny: swc's tree is walked as plain JSON, because its node types are large unions
function visit(node: any, file: SourceFile): void {
  if (Array.isArray(node)) for (const item of node) visit(item, file)
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return
  const add = (specifier: string, typeOnly = false) => file.imports.push({ specifier, typeOnly })
  switch ((node as Node).type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      if (node.source) add(node.source.value, Boolean(node.typeOnly))
      if (node.source?.value === 'node:process' && node.specifiers?.some(importsEnv))
        file.readsEnvironment = true
      break
    case 'CallExpression':
      if (node.callee.type === 'Import' && node.arguments[0]?.expression.type === 'StringLiteral') {
        add(node.arguments[0].expression.value)
      }
      break
    case 'TsImportType':
      add(node.argument.value, true)
      break
    case 'MemberExpression':
      if (
        node.object.type === 'Identifier' &&
        node.object.value === 'process' &&
        node.property.value === 'env'
      ) {
        file.readsEnvironment = true
      }
      break
    case 'VariableDeclarator':
      if (
        node.id.type === 'ObjectPattern' &&
        node.init?.type === 'Identifier' &&
        node.init.value === 'process'
      ) {
        file.readsEnvironment ||= node.id.properties.some(
          (property: { key?: { value?: string } }) => property.key?.value === 'env',
        )
      }
      break
  }
  for (const key of Object.keys(node)) if (key !== 'span') visit(node[key], file)
}

// biome-ignore lint/suspicious/noExplicitAny: see visit
const importsEnv = (specifier: any) => (specifier.imported ?? specifier.local)?.value === 'env'

/** The path of a relative import from the root; undefined for a package. */
export function resolveRelative(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return relative(resolve('/'), resolve('/', dirname(from), specifier))
    .split(sep)
    .join('/')
}
