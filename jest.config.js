// Sources are ESM TypeScript that Node 24 runs directly; for jest only the types are stripped.
export default {
  testEnvironment: '<rootDir>/packages/testkit/src/jest/leak-checking-environment.ts',
  globalSetup: '<rootDir>/packages/testkit/src/jest/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/jest/global-teardown.ts',
  testSequencer: '<rootDir>/packages/testkit/src/jest/long-first.ts',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  testMatch: ['<rootDir>/{packages,apps,scripts,bench}/**/*.spec.ts'],
  modulePathIgnorePatterns: ['<rootDir>/.herald', '<rootDir>/apps/console/dist'],
  testTimeout: 240_000,
}
