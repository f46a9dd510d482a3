import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** Smaller files gain nothing that a packet would notice. */
const WORTH_BYTES = 1024

/**
 * Writes .gz and .br beside every asset, so that the server compresses nothing per request. index.html stays plain: each
 * answer carries a nonce of its own.
 */
export function compressAssets(): Plugin {
  let folder = 'dist'
  return {
    name: 'compress-assets',
    apply: 'build',
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir)
    },
    closeBundle() {
      for (const name of globSync('assets/**/*.{js,css,svg}', { cwd: folder })) {
        const path = join(folder, name)
        const bytes = readFileSync(path)
        if (bytes.length < WORTH_BYTES) continue
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
        writeFileSync(
          `${path}.br`,
          brotliCompressSync(bytes, {
            params: {
              [constants.BROTLI_PARAM_QUALITY]: 10,
              [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
            },
          }),
        )
      }
    },
  }
}
