import { SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export function DescriptionList({ items }: { items: [name: string, value: ReactNode][] }) {
  return (
    <SimpleGrid component="dl" cols={{ base: 2, sm: 3, md: 4 }} spacing="md" m={0}>
      {items.map(([name, value]) => (
        <div key={name}>
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm" className="breaks">
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  )
}
