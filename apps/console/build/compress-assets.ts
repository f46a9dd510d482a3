import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** Compressing smaller files saves no network packet. */
const MIN_BYTES = 1024

/**
 * Writes .gz and .br next to every asset, so that the server does not compress per request. index.html is not compressed:
 * each response contains a new nonce.
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
        if (bytes.length < MIN_BYTES) continue
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
