import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressAssets } from './build/compress-assets.ts'

/** Only pages with charts load these. */
const drawsCharts =
  /\/node_modules\/(recharts|@mantine\/charts|victory-vendor|d3-[a-z-]+|@reduxjs|redux|redux-thunk|react-redux|immer|reselect|es-toolkit|decimal\.js-light|internmap|eventemitter3)\//

/** Parts of the library that neither the sign-in page nor the frame of the console uses. */
const forPages =
  /\/node_modules\/(react-number-format|react-remove-scroll|react-remove-scroll-bar|react-style-singleton|use-sidecar|use-callback-ref|@mantine\/core\/esm\/components\/(Accordion|Autocomplete|Badge|Checkbox|Chip|Code|Collapse|Combobox|CopyButton|FileButton|FileInput|Grid|JsonInput|List|Modal|ModalBase|MultiSelect|NumberInput|Overlay|Pill|PillsInput|Progress|Radio|RingProgress|Select|SimpleGrid|Skeleton|Spoiler|Stepper|Switch|Table|Tabs|TagsInput|Textarea|Timeline|Tooltip))\//

/** What the first page loads, and the sign-in page needs. */
const forFirstPage =
  /\/src\/(session|i18n\/(en|languages|error-texts|basic-labels)\.|app\/(console|router|sign-in-gate|frame|application-gate|select-application|not-found|error-page)\.|components\/(error-alert|warning-alert|loading|empty-state|app-link|page-title)\.|api\/|calculations\/(duration|format|relative-time|time-zone)\.)|\/packages\/client\//

export default defineConfig({
  base: '/console/',
  plugins: [react(), compressAssets()],
  build: {
    target: 'es2022',
    // The content security policy allows no data: URLs, so assets are not inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // By default every shared component becomes a file of its own, and the first page loads sixty.
        codeSplitting: {
          groups: [
            {
              name: 'library',
              test: (id) => id.includes('/node_modules/') && !drawsCharts.test(id) && !forPages.test(id),
              priority: 5,
            },
            { name: 'library-pages', test: forPages, priority: 4 },
            { name: 'first', test: forFirstPage, priority: 3 },
            { name: 'charts', test: drawsCharts, priority: 2 },
            {
              name: 'shared',
              test: /\/src\/(components|i18n(?!\/zh)|calculations|session|api|app)\/|\/packages\//,
              priority: 1,
            },
          ],
        },
      },
    },
  },
})
