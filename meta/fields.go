// The sets a request is made of: which facts a reply shall carry, and which
// optional arguments are given.

package meta

// Fields is a set of facts about an item. In a request it says what the reply
// shall carry, in a [Reply] what it did carry.
type Fields uint16

const (
	FieldValue       Fields = 1 << iota // v: the value itself, as the body of a VA reply
	FieldClientFlags                    // f: the number stored with the item by its writer
	FieldCAS                            // c: the version of the item
	FieldSize                           // s: length of the value in bytes
	FieldTTL                            // t: seconds left to live, -1 for no end
	FieldHit                            // h: whether the item was fetched before this request
	FieldLastAccess                     // l: seconds since the item was last fetched
	FieldKey                            // k: the key, as stored

	FieldOpaque // O: the tag of the request, echoed. Replies only
	FieldBase64 // b: the key of the reply is base64 text. Replies only
	FieldWin    // W: this client is the one to recompute the item. Replies only
	FieldStale  // X: the item is marked stale. Replies only
	FieldLost   // Z: another client was already told to recompute. Replies only
)

const (
	getFields    = FieldValue | FieldClientFlags | FieldCAS | FieldSize | FieldTTL | FieldHit | FieldLastAccess | FieldKey
	setFields    = FieldCAS | FieldSize | FieldKey
	deleteFields = FieldKey
	mathFields   = FieldValue | FieldCAS | FieldTTL | FieldKey
)

// Args is the set of optional arguments that a request gives. An argument
// whose bit is not set is left out, whatever its field holds.
type Args uint8

const (
	ArgTTL     Args = 1 << iota // T: set the time to live
	ArgVivify                   // N: create the item on a miss, with this time to live
	ArgRecache                  // R: win the right to recompute when less time than this is left
	ArgCAS                      // C: act only on this version
	ArgNewCAS                   // E: the version that the item shall get
	ArgDelta                    // D: the amount to add or subtract
	ArgInitial                  // J: the number of a counter created by N
)

const (
	getArgs    = ArgTTL | ArgVivify | ArgRecache | ArgCAS | ArgNewCAS
	setArgs    = ArgVivify | ArgCAS | ArgNewCAS
	deleteArgs = ArgTTL | ArgCAS | ArgNewCAS
	mathArgs   = ArgTTL | ArgVivify | ArgCAS | ArgNewCAS | ArgDelta | ArgInitial
)
