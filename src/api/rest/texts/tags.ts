/** The texts of `../tags.ts` and `../presets.ts`. */
import type { Texts } from './text.ts'

export const tagTexts: Texts<'tags' | 'presets'> = {
  tags: {
    list: {
      summary: 'List tags',
      description: 'With the number of connections that carry each.',
      tool: {
        title: 'List tags',
        description:
          'Your labels for connections, with how many bear each. Only you see them. Which connections: tag_ids in connections_list. Groups of people in the organisation: org_groups_list.',
      },
    },
    create: {
      summary: 'Create a tag',
      description:
        'A tag is yours alone, and its name is so once: a second one of the name is refused.',
      tool: {
        title: 'Create a tag',
        description:
          'Make a label for connections; its name must be new among your tags. It is on no connection until tags_assign.',
        // Not `again`: a name that already exists is rejected.
        traits: [],
      },
    },
    update: {
      summary: 'Rename a tag or change its colour',
      description: 'Changes it on every connection that carries it. What is left out stays.',
      tool: {
        title: 'Rename a tag or change its colour',
        description:
          'Change the name or colour of a tag; what is left out stays. The connections that bear it keep it.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a tag; the connections stay',
      description:
        'It is taken off every connection and out of every preset; nothing else changes.',
      tool: {
        title: 'Delete a tag',
        description:
          'Delete a tag and take it off all connections and presets, which stay. Not undone. Off one connection only: tags_unassign.',
        traits: ['takes'],
      },
    },
    assign: {
      summary: 'Assign a tag to a connection',
      description: 'Only you see it there. Assigning it again changes nothing.',
      tool: {
        title: 'Put a tag on a connection',
        description:
          'Put one of your tags (id) on one of your connections (cid). Only you see it. Undo by tags_unassign.',
        traits: [],
      },
    },
    unassign: {
      summary: 'Remove a tag from a connection',
      description: 'The tag itself stays, on others too.',
      tool: {
        title: 'Take a tag off a connection',
        description:
          'Take one tag (id) off one connection (cid); both stay. Undo by tags_assign. Off all connections: tags_delete.',
        traits: ['takes'],
      },
    },
  },
  presets: {
    list: {
      summary: 'List presets',
      description: 'The default one has `is_default`.',
      tool: {
        title: 'List presets',
        description:
          'What new connections may begin with: tags, favourite, message and lifetime of invitations; is_default marks the one used by default.',
      },
    },
    create: {
      summary: 'Create a preset for connections',
      description:
        'Nothing happens until a connection is made with it: by its id, or without naming one where it is the default.',
      tool: {
        title: 'Create a preset',
        description:
          'Keep settings for new connections: connections_create takes them by preset_id. Not the default until presets_set_default. Connections that exist do not change.',
        traits: ['again'],
      },
    },
    update: {
      summary: 'Change a preset; connections made with it keep what they began with',
      description: 'Later invitations use the changed preset, too. Members that are left out stay.',
      tool: {
        title: 'Change a preset',
        description:
          'Change the settings of a preset; what is left out stays. Connections made with it stay as they are; their next invitations use the changed preset.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a preset; connections made with it stay as they are',
      description: 'Where it was the default, there is none from then on.',
      tool: {
        title: 'Delete a preset',
        description:
          'Delete a preset; connections made with it stay as they are. Not undone. To keep it and only stop its being the default: presets_clear_default.',
        traits: ['takes'],
      },
    },
    setDefault: {
      summary: 'Make a preset the default',
      description:
        'From now on a connection that names no preset begins with this one. The former default is one no more.',
      tool: {
        title: 'Make a preset the default',
        description:
          'From now on new connections begin with this preset by default; it replaces another default. Undo by presets_clear_default.',
        traits: [],
      },
    },
    clearDefault: {
      summary: 'Clear the default preset',
      description: 'From now on a connection that names no preset begins with none.',
      tool: {
        title: 'Have no default preset',
        description:
          'From now on new connections begin without a preset by default; takes nothing, and no preset is deleted. Undo by presets_set_default.',
        traits: ['takes'],
      },
    },
  },
}
